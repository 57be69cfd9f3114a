// All that a page is made of, under one name. The first page asks for its parts alone, to be there sooner.
export * from "./api.js"
export * from "./dialog.js"
export * from "./form.js"
export * from "./html.js"
export * from "./list.js"
export * from "./router.js"
export * from "../elements/toast-stack.js"
