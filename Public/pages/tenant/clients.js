import {
	api, formDialog, h, isAllowed, list, noValue, runAct, statusTag, t, tickField, timeColumn, userText,
} from "../../lib/ui.js"

const ABOUT = { relate: "Mail", immich: "Photos", timetracker: "Time tracking", thinkwork: "Work", deeprecall: "Notes" }

export default page => list(page, {
	path: `${page.path}/clients`, whole: true, noun: ["client", "clients"],
	columns: [
		["Client", one => [h("span.main", one.name), h("span.sub", ABOUT[one.name])]],
		["Status", one => statusTag(one.enabled ? "active" : "off"), { state: true }],
		[
			"Answers at",
			one =>
				[
					h("code", `/t/${page.tenant.slug}/${one.name}/`),
					one.hosts.length > 0 && userText(one.hosts.join(", "), "span.sub"),
				],
		],
		[
			"Leads back to",
			one => (one.redirect_uris.length ? userText(one.redirect_uris.join(", "), "code") : noValue()),
		],
		timeColumn("Changed", "updated_at"),
	],
	actions: isAllowed("writeOrigins") && ((one, reload) => [
		!one.enabled && { text: "Switch on", run: () => turn(page, one, true, reload) },
		{ text: "Edit", run: () => edit(page, one, reload) },
		one.enabled && { text: "Switch off", run: () => turn(page, one, false, reload) },
	]),
})

// A client is put as a whole: what is left out falls back to its default.
function turn(page, one, enabled, reload) {
	const { name, hosts, redirect_uris, settings } = one
	return runAct(`${page.path}/clients/${name}`, {
		method: "PUT", body: { enabled, hosts, redirect_uris, settings }, back: () => turn(page, one, !enabled, reload),
	},
		enabled ? t`${name} may sign in here` : t`${name} is switched off: its paths are refused`, reload)
}

const whole = { type: "number", look: ".third" }

/** The settings that each client declares besides those of every client. */
const SETTINGS = {
	relate: () => [["oidc_scope", "Scopes that the apps ask for", { hint: "Empty: openid profile email." }],
		...["SMTP", "POP3", "IMAP"].flatMap(name => [
			["server", t`${name} server`, { look: ".third" }], ["port", t`${name} port`, whole],
			["secure_port", t`${name} port by TLS`, whole],
		]
			.map(([part, ...rest]) => [`${name.toLowerCase()}.${part}`, ...rest]))],
	immich: ({ admin_sign_up, single_label_email, password_login = true }) => [
		["compat", "Generation of the apps", { options: [["", "v3, as is usual"], ["v3", "v3"], ["v2", "v2"]] }],
		...["major", "minor", "patch"].map(part => [`version.${part}`, t`Version, ${part}`, whole]),
		["button_text", "Text of the provider's button"],
		tickField("password_login", "Passwords let in", password_login),
		tickField("admin_sign_up", "The first person may become the admin, once", admin_sign_up),
		tickField("single_label_email", "Allow addresses such as admin@local", single_label_email)],
	timetracker: () => [["app_url", "Address of its web page", { hint: "Without it only the app signs in." }]],
	thinkwork: ({ password }) => [tickField("password", "The pool takes passwords", password)],
	deeprecall: () => [["replication_audience", "Audience of the replication token", { hint: "Empty: electric." }]],
}

async function edit(page, one, after) {
	const providers = await api("/providers?limit=100").then(
		({ items }) => items.map(({ id, name }) => [id, userText(name)]), () => [],
	)
	const { provider } = one.settings
	if (provider && !providers.some(([id]) => id === provider)) providers.push([provider, provider])
	return formDialog({
		title: t`Settings of ${one.name}`, submit: "Save", start: one,
		fields: [
			tickField("enabled", "Its paths answer", one.enabled),
			["hosts", "Hosts of its own", { type: "lines", hint: "One a line; for apps that take no path." }],
			[
				"redirect_uris", "Where a sign-in may lead back to",
				{ type: "lines", hint: "One a line; compared byte for byte." },
			],
			...[[
				"provider", "Provider that people sign in at",
				{ options: [["", "The only one that fits"], ...providers] },
			],
				[
					"token_seconds", "Seconds that a session lasts",
					{ type: "number", hint: "Empty: as is usual for the client." },
				],
				...SETTINGS[one.name](one.settings)].map(([name, ...rest]) => [`settings.${name}`, ...rest]),
		],
		path: `${page.path}/clients/${one.name}`, method: "PUT", said: "Saved", after,
	})
}
