import { decisions } from "../decisions.js"

export default page => decisions(page, `${page.path}/provisioning/decisions`)
