// Jobs: all, and one, with the file of an import. The server sends the parts inside this file.
import { jobPage } from "./jobs/job.js"
import { jobList } from "./jobs/list.js"

export * from "./jobs/upload.js"
export * from "./jobs/list.js"
export * from "./jobs/repair.js"
export * from "./jobs/job.js"

export default page => (page.id ? jobPage : jobList)(page)
