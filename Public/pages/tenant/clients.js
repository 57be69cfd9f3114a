import { act, formDialog, h, list, may, none, t, tag, user, when } from "../../lib/console.js"

const ABOUT = { relate: "Mail", immich: "Photos", timetracker: "Time tracking", thinkwork: "Work", deeprecall: "Notes" }

export default page => list(page, page.body, {
	path: `${page.path}/clients`, whole: true, noun: ["client", "clients"],
	columns: [
		["Client", one => [h("span.main", one.name), h("span.sub", ABOUT[one.name])]],
		["Status", one => tag(one.enabled ? "active" : "off"), { state: true }],
		["Answers at", one => [h("code", `/t/${page.tenant.slug}/${one.name}/`), one.hosts.length > 0 && user(one.hosts.join(", "), "span.sub")]],
		["Leads back to", one => (one.redirect_uris.length ? user(one.redirect_uris.join(", "), "code") : none())],
		when("Changed", "updated_at"),
	],
	actions: may("writeOrigins") && ((one, reload) => [
		["Edit", () => edit(page, one, reload)],
		[one.enabled ? "Switch off" : "Switch on", () => turn(page, one, !one.enabled, reload), one.enabled],
	]),
})

// A client is put as a whole: what is left out would fall back to its default.
const whole = ({ enabled, hosts, redirect_uris, settings }) => ({ enabled, hosts, redirect_uris, settings })

const turn = (page, one, enabled, reload) => act(`${page.path}/clients/${one.name}`, {
	method: "PUT", body: whole({ ...one, enabled }), back: () => turn(page, one, !enabled, reload),
}, enabled ? t`${one.name} may sign in here` : t`${one.name} is switched off: its paths are refused`, reload)

const edit = (page, one, reload) => formDialog({
	title: t`Settings of ${one.name}`, edits: one,
	fields: [
		["enabled", "Its paths answer", { type: "check" }],
		["hosts", "Hosts of its own", { type: "lines", hint: "One a line; for apps that take no path." }],
		["redirect_uris", "Where a sign-in may lead back to", { type: "lines", hint: "One a line; compared byte for byte." }],
		["settings", "Settings", { type: "textarea", value: JSON.stringify(one.settings, null, 2), hint: "JSON, as the contract declares it." }],
	],
	request: ({ settings, ...values }) => [`${page.path}/clients/${one.name}`,
		{ method: "PUT", body: { ...whole(one), ...values, ...(settings && { settings: JSON.parse(settings) }) } }],
	after: reload,
})
