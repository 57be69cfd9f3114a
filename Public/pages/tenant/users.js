// Users: all, one, and those who may be one person. The server sends the parts inside this file.
import { duplicates } from "./users/duplicates.js"
import { userList } from "./users/list.js"
import { userPage } from "./users/user.js"

export * from "./users/merge.js"
export * from "./users/list.js"
export * from "./users/user.js"
export * from "./users/duplicates.js"

export default page => (page.id === "duplicates" ? duplicates : page.id ? userPage : userList)(page)
