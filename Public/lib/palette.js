// The palette, and what the keys do. The server sends the parts inside this file.
export * from "./palette/key-text.js"
export * from "./palette/search.js"
export * from "./palette/key-acts.js"
