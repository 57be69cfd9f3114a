import {
	api, formDialog, h, isAllowed, list, noValue, runAct, statusTag, t, tickField, timeColumn, userText,
} from "../../lib/ui.js"

/** @type {Record<string, string>} */
const ABOUT = { relate: "Mail", immich: "Photos", timetracker: "Time tracking", thinkwork: "Work", deeprecall: "Notes" }

/** @type {(page: TenantPage) => Promise<any>} */
export default page => list(page, /** @type {ListSpec<API.Client>} */ ({
	path: `${page.path}/clients`, whole: true, noun: { one: "client", many: "clients" },
	columns: [
		{ label: "Client", cell: one => [h("span.main", one.name), h("span.sub", ABOUT[one.name])] },
		{ label: "Status", cell: one => statusTag(one.enabled ? "active" : "off"), state: true },
		{
			label: "Answers at",
			cell: one => [
				h("code", `/t/${page.tenant?.slug}/${one.name}/`),
				one.hosts?.length ? userText(one.hosts.join(", "), "span.sub") : null,
			],
		},
		{
			label: "Leads back to",
			cell: one => (one.redirect_uris?.length ? userText(one.redirect_uris.join(", "), "code") : noValue()),
		},
		timeColumn("Changed", "updated_at"),
	],
	actions: isAllowed("writeOrigins") && ((one, reload) => [
		!one.enabled && { text: "Switch on", run: () => turn(page, one, true, reload) },
		{ text: "Edit", run: () => edit(page, one, reload) },
		one.enabled && { text: "Switch off", run: () => turn(page, one, false, reload) },
	]),
}))

// Turns a client on or off. The request replaces the whole client: a member that is missing would get its default
// value. So all members are sent.
/** @type {(page: TenantPage, one: API.Client, enabled: boolean, reload: () => unknown) => unknown} */
function turn(page, one, enabled, reload) {
	const { name, hosts, redirect_uris, settings } = one
	return runAct(`${page.path}/clients/${name}`, {
		method: "PUT", body: { enabled, hosts, redirect_uris, settings }, back: () => turn(page, one, !enabled, reload),
	},
		enabled ? t`${name} may sign in here` : t`${name} is switched off: its paths are refused`, reload)
}

/**
 * A field that takes a third of a line.
 * @type {(name: string, label: Sentence, type?: string) => Field}
 */
const third = (name, label, type = "number") => ({ name, label, type, look: ".third" })

/**
 * For each client, the fields for the settings that no other client has.
 * @type {Record<string, (settings: any) => Field[]>}
 */
const SETTINGS = {
	relate: () => [
		{ name: "oidc_scope", label: "Scopes that the apps ask for", hint: "Empty: openid profile email." },
		...["SMTP", "POP3", "IMAP"].flatMap(name => [
			third(`${name.toLowerCase()}.server`, t`${name} server`, "text"),
			third(`${name.toLowerCase()}.port`, t`${name} port`),
			third(`${name.toLowerCase()}.secure_port`, t`${name} port by TLS`),
		]),
	],
	immich: ({ admin_sign_up, single_label_email, password_login = true }) => [
		{
			name: "compat", label: "Generation of the apps",
			options: [
				{ value: "", text: "v3, as is usual" },
				{ value: "v3", text: "v3" },
				{ value: "v2", text: "v2" },
			],
		},
		...["major", "minor", "patch"].map(part => third(`version.${part}`, t`Version, ${part}`)),
		{ name: "button_text", label: "Text of the provider's button" },
		tickField("password_login", "Passwords are accepted", password_login),
		tickField("admin_sign_up", "The first person may become the admin, once", admin_sign_up),
		tickField("single_label_email", "Allow addresses such as admin@local", single_label_email),
	],
	timetracker: () => [{
		name: "app_url", label: "Address of its web page", hint: "Without it only the app signs in.",
	}],
	thinkwork: ({ password }) => [tickField("password", "The pool takes passwords", password)],
	deeprecall: () => [{
		name: "replication_audience", label: "Audience of the replication token", hint: "Empty: electric.",
	}],
}

/** @type {(page: TenantPage, one: API.Client, after: () => unknown) => Promise<any>} */
async function edit(page, one, after) {
	const providers = await api("/providers?limit=100").then(
		({ items }) => items.map(({ id, name }) => ({ value: id, text: userText(name) })), () => [],
	)
	const { provider } = one.settings
	if (provider && !providers.some(({ value }) => value === provider)) {
		providers.push({ value: provider, text: provider })
	}
	return formDialog({
		title: t`Settings of ${one.name}`, submit: "Save", start: one,
		fields: [
			tickField("enabled", "Its paths answer", one.enabled),
			{
				name: "hosts", label: "Hosts of its own", type: "lines",
				hint: "One on each line; for apps that accept no path.",
			},
			{
				name: "redirect_uris", label: "Where a sign-in may lead back to", type: "lines",
				hint: "One a line; compared byte for byte.",
			},
			...[
				{
					name: "provider", label: "Provider that people sign in at",
					options: [{ value: "", text: "The only one that fits" }, ...providers],
				},
				{
					name: "token_seconds", label: "Seconds that a session lasts", type: "number",
					hint: "Empty: as is usual for the client.",
				},
				...SETTINGS[one.name](one.settings),
			].map(field => ({ ...field, name: `settings.${field.name}` })),
		],
		path: `${page.path}/clients/${one.name}`, method: "PUT", said: "Saved", after,
	})
}
