// People of another system come in: the file, what it seems to be, a try that writes nothing, then the import.
import {
	append, button, card, dataTable, goTo, h, isAllowed, liveRegion, note, replaceContent, showState, t,
	toast, userText,
} from "../../lib/ui.js"
import { form } from "../../lib/form.js"
import { sendFile } from "../../lib/upload.js"
import { FORMATS, formatOf, headOf, proposed, rowsOf, TARGETS } from "./import-formats.js"

/** So many bytes of the file are read to know it; so many rows of it are shown. */
const LOOKED_AT = 1 << 16
const SHOWN = 20

const CONFLICTS = [
	["skip", "Leave it as it is"], ["update", "Take what the file says"], ["fail", "Count the row as failed"],
]

export default async page => {
	if (!isAllowed("createUsers")) {
		return showState(page.body, "forbidden", {
			title: "You may not import users", text: "Your role lacks the right createUsers.",
			link: { href: `${page.base}/users`, text: "All users" },
		})
	}
	const rest = h("div.stack-gap")
	const said = liveRegion()
	const tell = error => replaceContent(said, note("danger", "alert", error.message))
	const chosen = h("input", {
		type: "file", id: "file", accept: ".csv,.json,.ndjson,.jsonl,.gz,text/csv,application/json",
		onchange: () => chosen.files[0] && drawFile(page, rest, chosen.files[0]).catch(tell),
	})
	append(page.body, [
		h("div.head",
			h("div", h("h2", "Import users"), h("p.lead",
				"People keep their passwords where the file has their hashes. Trying writes nothing.")),
			h("div.acts", h("a.btn", { href: `${page.base}/users` }, "All users"))),
		card("The file", h(
			"div.field", h("label", { htmlFor: "file" }, "CSV, JSON or NDJSON, also as .gz, up to 1 GB"), chosen,
		), said),
		rest,
	])
}

async function drawFile(page, node, file) {
	const head = await headOf(file, LOOKED_AT)
	const found = formatOf(file.name, head)
	const more = h("div.stack-gap")
	const options = form([
		["format", "Format", { options: FORMATS, value: found, hint: "What the file looks like." }],
		["on_conflict", "If a person is here already", { options: CONFLICTS }],
	], { submit: "Try it", send: values => send(page, file, values, more, true), done: job => followTo(page, job) })
	const format = options.querySelector("select")
	const draw = () => drawOptions(more, format.value, head)
	format.addEventListener("change", draw)
	options.querySelector("[role=alert]").before(more)
	const go = button("Import", () => run(page, file, options, more), {})
	options.querySelector(".acts").append(go)
	replaceContent(node, card("How it is read", options))
	draw()
}

/** What a format needs besides: columns of a CSV, the parameters of Firebase's hashes. */
function drawOptions(node, format, head) {
	if (format === "firebase") return replaceContent(node, firebase())
	if (format !== "csv") return replaceContent(node)
	const [names = [], ...rows] = rowsOf(head).slice(0, SHOWN + 1)
	const mapped = proposed(names)
	const choose = name => h("select", { "aria-label": t`What ${name} is`, "data-column": name },
		TARGETS.map(([code, text]) => h("option", { value: code, selected: code === mapped[name] }, text)))
	return replaceContent(node, h("strong", "What each column is"),
		dataTable("The first rows", names.map(name => h("div.stack-gap", userText(name), choose(name))),
			rows.filter(row => row.length > 1).map(row => row.map(cell => userText(cell.slice(0, 60))))))
}

const HASH = [
	["signer_key", "Signer key (base64)"], ["salt_separator", "Salt separator (base64)"], ["rounds", "Rounds"],
	["mem_cost", "Memory cost"],
]
const firebase = () => h("fieldset", h("legend", "Parameters of the password hashes, from the project's console"),
	HASH.map(([name, label]) => h("div.field", h("label", { htmlFor: name }, label),
		h("input", { id: name, name, "data-hash": "", autocomplete: "off", spellcheck: false }))))

/** The options that go beside the file; null where the file says everything. */
function optionsOf(node) {
	const columns = [...node.querySelectorAll("[data-column]")].filter(one => one.value)
	if (columns.length) return { mapping: Object.fromEntries(columns.map(one => [one.dataset.column, one.value])) }
	const hash = [...node.querySelectorAll("[data-hash]")].filter(one => one.value.trim())
	if (!hash.length) return null
	const number = ({ name, value }) => (/rounds|mem_cost/.test(name) ? Number(value) : value.trim())
	return { hash: Object.fromEntries(hash.map(one => [one.name, number(one)])) }
}

const send = (page, file, { format, on_conflict }, more, isTry) => sendFile(`${page.path}/imports`, {
	format, on_conflict, dry_run: isTry || null,
}, file, optionsOf(more))

async function run(page, file, options, more) {
	try {
		followTo(page, await send(page, file, options.values(), more, false))
	} catch (error) {
		const faults = error.errors?.map(one => `${one.pointer.slice(1)} ${one.detail}`)
		toast(faults?.join(" ") || error.message, { stay: true })
	}
}

const followTo = (page, job) => goTo(`${page.base}/jobs/${job.id}`)
