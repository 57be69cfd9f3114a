// Sign-in by a passkey: a button, and the browser's own list below the field for the address.
import { api, button, h, note, replaceContent } from "../../lib/core.js"
import { askPasskey, fillsIn, passkeyRefusal, passkeysFault, signInOptions } from "../../lib/passkeys.js"

/** A challenge is good for 5 minutes; a page that stays open longer asks anew. */
const FRESH = 270000

// The browser asks one thing at a time: its list gives way to the button, also to that of a later step.
let waiting = null
/** The part of the page; `done()` goes on after a sign-in. `ways`: of the server; then a field shows the list, too. */
export function passkeySignIn(page, done, ways) {
	const fault = passkeysFault()
	if (fault) return h("p.small.muted", fault)
	const trouble = h("div", { role: "alert" })
	const act = button("Sign in with a passkey", byButton, { look: ".wide", icon: "key" })

	async function signIn(options, more) {
		const passkey = await askPasskey(options, more)
		await api("/session", { body: { passkey } })
		done()
	}

	async function byButton() {
		if (act.disabled) return
		act.disabled = true
		replaceContent(trouble)
		waiting?.abort()
		try {
			await signIn(await signInOptions())
		} catch (error) {
			show(error)
			wait()
		} finally {
			act.disabled = false
		}
	}

	/** A server without a name of its own is asked for nothing. */
	async function begin() {
		if ((await ways)?.passkeys !== false) return wait()
		const why = "This server's public address has no passkeys: they need a name and https."
		replaceContent(part, h("p.small.muted", why))
	}

	/** Lets the browser offer passkeys where the address is typed, until one is chosen. */
	async function wait() {
		if (!ways || page.signal.aborted || !await fillsIn()) return
		const own = (waiting = new AbortController())
		page.signal.addEventListener("abort", () => own.abort(), { once: true })
		// Why there are none is said to who asks for one, by the button.
		const options = await signInOptions().catch(() => null)
		if (!options || own.signal.aborted) return
		const timer = setTimeout(() => (own.abort(), wait()), FRESH)
		try {
			await signIn(options, { mediation: "conditional", signal: own.signal })
		} catch (error) {
			// Nobody asked for what the browser or its authenticator cannot do.
			if (own.signal.aborted || error instanceof DOMException) return
			show(error)
			// The server took it for wrong: the list is offered again.
			if (error.status === 401) wait()
		} finally {
			clearTimeout(timer)
		}
	}

	function show(error) {
		replaceContent(trouble, note("danger", "alert", passkeyRefusal(error).message))
	}

	const part = h("div.gap", h("div.acts", act), trouble)
	begin()
	return part
}
