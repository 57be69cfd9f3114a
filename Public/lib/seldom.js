// What a page seldom needs. The server sends the parts inside this file.
export * from "./seldom/gone.js"
export * from "./seldom/requests.js"
export * from "./seldom/file.js"
