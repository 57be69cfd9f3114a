// The set-up of a password or a passkey, so that an operator who came by a one-time link can sign in again.
import { button, h, note, replaceContent } from "./core.js"
import { api } from "./server.js"
import { newPassword } from "./door.js"
import { form } from "./form.js"
import { makePasskey, passkeyRefusal, passkeysFault } from "./passkeys.js"

/**
 * A form for a password and a button for a passkey; calls `done()` when either is set up. Its requests never open the
 * dialog that asks for a proof of presence: the form may itself be in that dialog, and would then wait for the proof
 * forever.
 * @type {(done: () => unknown) => HTMLElement}
 */
export function setUpWays(done) {
	const trouble = h("div", { role: "alert" })
	const act = button("Use a passkey instead", async () => {
		act.disabled = true
		replaceContent(trouble)
		try {
			const passkey = await makePasskey({ proved: true })
			// Name the passkey after the device's system. The operator can rename it later, on the page of the account.
			const name = navigator.userAgentData?.platform || navigator.platform || "Passkey"
			await api("/me/passkeys", { body: { name, passkey }, proved: true })
			done()
		} catch (error) {
			replaceContent(trouble, note("danger", "alert", passkeyRefusal(error).message))
		} finally {
			act.disabled = false
		}
	}, { icon: "key" })
	return h("div.stack-gap",
		form([newPassword("New password")], {
			submit: "Set the password", done,
			send: body => api("/me/password", { method: "PUT", body, proved: true }),
		}),
		!passkeysFault() && h("div.acts", act), trouble)
}
