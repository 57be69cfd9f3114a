import { form } from "../../lib/form.js"
import {
	append, card, createdColumn, formDialog, h, isAllowed, list, liveRegion, note, noValue, replaceContent, runAct, t,
	tickField, timeColumn, toast, undoable, userText, words,
} from "../../lib/ui.js"

export default async page => {
	const path = `${page.path}/cors-origins`
	await list(page, {
		path, noun: ["origin", "origins"], search: "Search origins",
		create: ["writeOrigins", "Add origin", reload => open(path, reload)],
		empty: {
			title: "No origin is allowed",
			text: "Browsers of other sites are kept out. Add the origin of your web app to let it call.",
		},
		columns: [
			["Origin", one => [userText(one.origin, "code.main"), one.label && userText(one.label, "span.sub")]],
			["Cookies", one => (one.credentials ? "Allowed" : noValue("none"))],
			timeColumn("Ends", "expires_at"),
			createdColumn("Added"),
		],
		actions: isAllowed("writeOrigins")
			&& ((one, reload) => [{ text: "Remove", run: () => remove(path, one, reload) }]),
	})
	if (!page.isGone) append(page.body, tester(page))
}

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

const open = (path, reload) => formDialog({
	title: "Add origin",
	fields: [
		[
			"origin*", "Origin",
			{
				hint: "Scheme, host and port: https://app.example.com. A path is refused; a lone slash is dropped.",
				attrs: { placeholder: "https://app.example.com" }, unique: true, named: true,
			},
		],
		["label", "Label"],
		tickField("credentials", "Allow cookies and credentials"),
	],
	path,
	done: (made, values) => {
		const changed = made.origin !== values.origin
		const how = made.normalised?.join(", ") || "its spelling was brought to the usual form"
		toast(
			changed
				? t`Saved as ${made.origin}: ${how}`
				: t`${made.origin} is allowed`,
			{ stay: changed },
		)
		reload()
	},
})

function tester(page) {
	const result = liveRegion(h("p.muted", "Test an origin to see both answers, header by header."))
	const built = form([
		["origin*", "Origin of the page", { attrs: { placeholder: "https://app.example.com" } }],
		["method", "Method", { options: ["GET", "POST", "PUT", "PATCH", "DELETE"].map(one => [one, one]) }],
		["request_headers", "Request headers", { type: "lines", hint: "One a line, such as authorization." }],
		tickField("credentials", "With cookies"),
	], {
		submit: "Test", request: values => ["/cors/evaluate", { body: { tenant: page.tenant.slug, ...values } }],
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
	return h("div.two.gap", card("Try an origin", built), card("What the browser gets", result))
}

function headers(title, values) {
	const lines = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${value}`)
	return h(
		"div", h("h3", title),
		h("code.code", { tabIndex: 0 }, lines.join("\n") || "No CORS header: the browser refuses."),
	)
}
