import { form } from "../../lib/form.js"
import {
	api, append, button, card, createdColumn, dataTable, formatNumber, formDialog, h, isAllowed, list, liveRegion,
	loadPart, lookalikeNote, mayHere, note, noValue, query, redraw, replaceContent, runAct, t, tickField, timeColumn,
	timeNode, toast, undoable, userText, words,
} from "../../lib/ui.js"

/** @type {(page: TenantPage) => Promise<any>} */
export default async page => {
	const path = `${page.path}/cors-origins`
	const test = tester(page)
	await list(page, /** @type {ListSpec<API.CorsOrigin>} */ ({
		...!page.tenant && {
			title: "Platform origins", lead: "They may call for every tenant, and for what belongs to no tenant.",
		},
		path, noun: { one: "origin", many: "origins" }, search: "Search origins",
		create: {
			right: page.tenant ? "writeOrigins" : "writePlatformOrigins", text: "Add origin",
			run: reload => open(path, reload, test.run),
		},
		empty: {
			title: "No origin is allowed",
			text: "Pages of other sites are refused. Add the origin of your web app to let it call.",
		},
		columns: [
			{
				label: "Origin",
				cell: one => [userText(one.origin, "code.main"), one.label && userText(one.label, "span.sub")],
			},
			{ label: "Cookies", cell: one => (one.credentials ? "Allowed" : noValue("none")) },
			timeColumn("Ends", "expires_at"),
			createdColumn("Added"),
		],
		actions: mayHere(page, "writeOrigins")
			&& ((one, reload) => [{ text: "Remove", run: () => remove(path, one, reload) }]),
	}))
	if (page.isGone) return
	const refused = h("div", button("Show what was refused lately", () => drawRefused(refused, path), {}))
	const sees = page.tenant && isAllowed("readOrigins")
	append(page.body, [sees && refused, test.node])
	if (query().refused && sees) {
		await drawRefused(refused, path)
		refused.scrollIntoView({ block: "nearest" })
	}
}

const drawRefused = (node, path) => loadPart(node, async () => {
	const { items } = await api(`${path}/refused`)
	const count = ({ count, paths }) => [formatNumber(count), h("span.sub", paths.join(", "))]
	replaceContent(node, card(
		"Refused in the last 24 hours",
		h("p.muted", items.length ? "Anyone who can send a request can cause a line here: allow only what you know."
			: "Nothing was refused."),
		items.length > 0 && dataTable("Refused in the last 24 hours", ["Origin", "Requests", "Last", ""],
			items.map(one => [
				[userText(one.origin, "code.main"), lookalikeNote(one.origin)], count(one), timeNode(one.last_seen),
				isAllowed("writeOrigins")
					&& button("Allow", () => allow(one, path), { look: ".tiny", name: one.origin }),
			])),
	))
})

/**
 * Asks whether to allow an origin that was refused. It is allowed without cookies, since nobody knows whether the
 * site itself sent the request with this origin.
 */
const allow = ({ origin }, path) => formDialog({
	title: t`Allow ${origin}?`, submit: "Allow", draft: null, fields: [{ name: "label", label: "Label" }],
	lead: [
		"Anyone can cause this line with a request that names the origin. Allow it only if you know whose it is. "
			+ "Cookies stay refused.",
		lookalikeNote(origin),
	],
	request: values => ({ path, body: { origin, ...values } }), said: t`${origin} is allowed`, after: redraw,
})

async function remove(path, one, reload) {
	const { origin, credentials, label, expires_at } = one
	await runAct(`${path}/${one.id}`, { method: "DELETE" }, "", () => {
		undoable(
			t`${origin} is removed`,
			() => runAct(path, { body: { origin, credentials, label, expires_at } }, t`${origin} is back`, reload),
		)
		reload()
	})
}

/**
 * Opens a form that allows an origin. Afterwards, `test(origin)` shows the answers that a browser at that origin gets
 * from now on.
 */
const open = (path, reload, test) => formDialog({
	title: "Add origin",
	fields: [
		{
			name: "origin", label: "Origin", required: true,
			hint: "Scheme, host and port: https://app.example.com. A path is refused; a lone slash is dropped.",
			attrs: { placeholder: "https://app.example.com" }, unique: true, named: true,
		},
		{ name: "label", label: "Label" },
		{ name: "expires_at", label: "Ends", type: "day", hint: "At the end of that day; empty means never." },
		tickField("credentials", "Allow cookies and credentials"),
	],
	path,
	done: (made, values) => {
		const changed = made.origin !== values.origin
		const how = made.normalised?.join(", ") || "its spelling was changed to the usual form"
		toast(
			changed
				? t`Saved as ${made.origin}: ${how}`
				: t`${made.origin} is allowed`,
			{ stay: changed },
		)
		reload()
		test(made.origin)
	},
})

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"].map(one => ({ value: one, text: one }))

function tester(page) {
	const result = liveRegion(h("p.muted", "Test an origin to see both answers, header by header."))
	const built = form([
		{
			name: "origin", label: "Origin of the page", required: true,
			attrs: { placeholder: "https://app.example.com" },
		},
		{ name: "method", label: "Method", options: METHODS },
		{
			name: "request_headers", label: "Request headers", type: "lines",
			hint: "One a line, such as authorization.",
		},
		tickField("credentials", "With cookies"),
	], {
		submit: "Test", request: values => ({ path: "/cors/evaluate", body: { tenant: page.tenant?.slug, ...values } }),
		done: said => {
			replaceContent(result, h("div.stack-gap",
				note(
					said.allowed ? "ok" : "danger", said.allowed ? "check" : "x",
					h("strong", said.allowed ? "Allowed. " : "Refused. "), words(said.reason),
					said.rule && [". Rule: ", userText(said.rule, "code")],
				),
				headers(t`Preflight, ${said.preflight?.status ?? "not sent"}`, said.preflight?.headers),
				headers("Response", said.response?.headers)))
		},
	})
	const run = origin => {
		const field = built.querySelector("input")
		if (field) field.value = origin
		built.requestSubmit()
	}
	return { run, node: h("div.two.gap", card("Try an origin", built), card("What the browser gets", result)) }
}

function headers(title, values) {
	const lines = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${value}`)
	return h(
		"div", h("h3", title),
		h("code.code", { tabIndex: 0 }, lines.join("\n") || "No CORS header: the browser refuses."),
	)
}
