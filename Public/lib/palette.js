// The palette, what the keys do, and the operator's menu. The server sends the parts inside this file.
export * from "./palette/key-text.js"
export * from "./palette/choices.js"
export * from "./palette/search.js"
export * from "./palette/key-acts.js"
export * from "./palette/account.js"
