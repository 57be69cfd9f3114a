import { audit } from "../audit.js"

export default page => audit(page, `${page.path}/audit-events`)
