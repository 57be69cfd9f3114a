// What comes with the first look at a row, and the first menu of one. The server sends the parts inside this file.
export * from "./rows/menu.js"
export * from "./rows/peek.js"
