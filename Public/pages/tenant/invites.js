// Invites, and join links. The server sends the parts inside this file.
import { joinLinks } from "./invites/join-links.js"
import { inviteList } from "./invites/list.js"

export * from "./invites/inviting.js"
export * from "./invites/list.js"
export * from "./invites/join-links.js"

export default page => (page.id ? joinLinks : inviteList)(page)
