import { decisions } from "../../lib/decisions.js";

export default (page) => void decisions(page, `${page.path}/provisioning/decisions`);
