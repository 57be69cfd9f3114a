// Lists, and all else that a page is made of under one name; the first page asks for its parts alone. The server
// sends the parts inside this file.
export * from "./core.js"
export * from "./dialogs.js"
export * from "./ui/secret.js"
export * from "./ui/forms.js"
export * from "./ui/focus.js"
export * from "./ui/columns.js"
export * from "./ui/filters.js"
export * from "./ui/fit.js"
export * from "./ui/rows.js"
export * from "./ui/selection.js"
export * from "./ui/look.js"
export * from "./ui/list.js"
