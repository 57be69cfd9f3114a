import { audit } from "../../lib/audit.js";

export default (page) => void audit(page, `${page.path}/audit-events`);
