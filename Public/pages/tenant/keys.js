// API keys: all, one, a new one. The server sends the parts inside this file.
import { keyPage } from "./keys/key.js"
import { keyList } from "./keys/list.js"
import { newKey } from "./keys/new-key.js"

export * from "./keys/list.js"
export * from "./keys/key.js"
export * from "./keys/new-key.js"

export default page => (page.id === "new" ? newKey : page.id ? keyPage : keyList)(page)
