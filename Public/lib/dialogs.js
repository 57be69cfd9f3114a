// Messages and dialogs. The server sends the parts inside this file.
export * from "./dialogs/toasts.js"
export * from "./dialogs/dialog.js"
