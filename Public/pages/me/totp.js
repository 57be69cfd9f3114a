// An authenticator app is set up, and the recovery codes that stand in for it are shown.
import { codeField } from "../../lib/door.js"
import { form } from "../../lib/form.js"
import { api, button, copyButton, dialog, h, revealSecret, toast } from "../../lib/ui.js"

/** In two steps: the app reads the seed, then one of its codes makes it count. */
export async function setUpApp(own, after) {
	const made = await api("/me/totp", { method: "POST" }).catch(error => toast(error.message, { stay: true }))
	if (!made?.seed) return
	const code = h("img.qr", {
		alt: "QR code for the authenticator app", src: `data:image/svg+xml,${encodeURIComponent(made.qr_svg)}`,
		width: 208, height: 208,
	})
	const confirmed = async () => {
		node.close()
		toast("The app is set up")
		if (!own.recovery_codes_left) await makeCodes(after)
		else after()
	}
	const node = dialog(own.totp ? "Replace the authenticator app" : "Set up an authenticator app",
		h("p.lead", own.totp
			? "Scan this with the new app. The old one counts until you type a code of the new one."
			: "Scan this with an authenticator app on your phone, then type the code that it shows."),
		code,
		h("details.small", h("summary", "Type the key instead"),
			h("div.stack-gap", h("code.code", made.seed.replace(/(.{4})(?=.)/g, "$1 ")),
				h("div.acts", copyButton(made.seed)))),
		form([codeField("code*", "Code")], {
			submit: "Confirm", cancel: () => node.close(), done: confirmed,
			send: body => api("/me/totp/confirm", { body }),
		}))
	node.querySelector("input").focus()
}

/** Shown once, to keep as a file or on paper. */
export async function makeCodes(after) {
	const { codes } = await api("/me/recovery-codes", { method: "POST" })
	const text = `Recovery codes for the console at ${location.host}. Each works once.\n\n${codes.join("\n")}\n`
	const node = revealSecret({
		title: "Recovery codes", secret: codes.join("\n"),
		text: "If you lose your phone, each of these signs you in once. This is the only time they are shown: keep "
			+ "them in a safe place, on paper or as a file.",
		file: { name: "gatehouse-recovery-codes.txt", text, type: "text/plain", label: "Download" },
		more: button("Print", () => print()),
	})
	node.addEventListener("close", after)
}
