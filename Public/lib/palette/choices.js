// How the console looks to who is signed in, and the way out.
import { api, leaveFor, redraw, setPreference, signOut } from "../core.js"

/** Keeps a choice of how the console looks, and shows it. */
export function choose(name, value) {
	setPreference(name, value)
	if (value) document.documentElement.dataset[name] = value
	else delete document.documentElement.dataset[name]
	if (name === "times") redraw()
	if (name !== "lang") return
	sessionStorage.setItem("chosen", name)
	location.reload()
}

/** Who could not sign in again is asked first. */
export async function leave() {
	const { remedies = [] } = await api("/session").catch(() => ({}))
	const isLast = remedies.length > 0 && !remedies.includes("sign_in_again")
	return isLast ? (await import("../form.js")).confirm({
		title: "Sign out for good?", keep: "Stay", act: "Sign out", run: goOut, said: null,
		text: "Your account has neither a password nor a passkey: without a new link you cannot sign in again. "
			+ "Set one up in your account first.",
	}) : goOut()
}

async function goOut() {
	await signOut().catch(() => {})
	leaveFor("/console/sign-in")
}
