// How a tenant's sign-in, invite and join pages look: a card of its settings.
import { wall } from "../../lib/door.js"
import { form } from "../../lib/form.js"
import { button, card, confirm, h, sendRequest, toast } from "../../lib/ui.js"

/**
 * The card with the form for the tenant `one`. `etag` returns the version of the tenant that the form changes.
 * @param {TenantPage} page
 * @param {API.Tenant} one
 * @param {() => string | undefined} etag
 */
export function appearance(page, one, etag) {
	const { appearance: worn = {} } = one
	const path = `${page.path}/logo`
	const saved = text => (toast(text), page.again())
	const refused = error => toast(error.errors?.[0]?.detail ?? error.message, { stay: true })
	const send = options => sendRequest(path, { etag: etag(), ...options })
	const look = form([
		{
			name: "appearance.name", label: "Name on the pages", hint: "Empty: the tenant's own name.",
			attrs: { maxLength: 64 },
		},
		{
			name: "appearance.accent", label: "Colour of the buttons",
			hint: "Such as #1d5bc9; empty means Gatehouse's own.",
		},
	], {
		submit: "Save", values: one, draft: "appearance", done: () => saved("Saved"),
		request: body => ({ path: page.path, method: "PATCH", body, etag: etag() }),
	})
	const pick = h("input", {
		type: "file", accept: "image/png,image/svg+xml", hidden: true, "aria-label": "Logo",
		onchange: ({ target: { files: [file] } }) => file
			&& send({ method: "PUT", file, headers: { "content-type": file.type } })
				.then(() => saved("The logo is set"), refused),
	})
	const sample = h("div.wall.sample", wall({ ...worn, name: worn.name ?? one.name }))
	const shown = h(`div${worn.accent ? ".own" : ""}`, sample)
	if (worn.accent) {
		shown.style.setProperty("--own", worn.accent)
		shown.style.setProperty("--on-own", worn.on_accent ?? null)
	}
	const node = card(
		"Appearance", h("p.muted.under", "What people see when they sign in, are invited, or join by a link."), shown,
		h("div.acts.gap", button(worn.logo_url ? "Replace the logo" : "Choose a logo", () => pick.click()),
			worn.logo_url && button("Remove the logo", () => removeLogo(page, path, etag())), pick),
		h("p.hint", "A PNG of at most 1024 by 1024 pixels, or an SVG of plain shapes; up to 20 kB."),
		h("div.gap", look),
	)
	return { node, isEdited: look.isEdited }
}

const removeLogo = (page, path, etag) => confirm({
	title: "Remove the logo?", act: "Remove the logo", path, etag, said: "The logo is removed", after: page.again,
	text: "People see the name alone. Gatehouse keeps no copy: to have it back, choose the file again.",
})
