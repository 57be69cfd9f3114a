// Forms. The server sends the parts inside this file.
export * from "./form/drafts.js"
export * from "./form/controls.js"
export * from "./form/field.js"
export * from "./form/form.js"
export * from "./form/dialogs.js"
