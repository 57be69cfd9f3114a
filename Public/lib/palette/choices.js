// How the console looks to who is signed in, and the way out.
import { leaveFor, redraw, setPreference, signOut } from "../core.js"

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

export async function leave() {
	await signOut().catch(() => {})
	leaveFor("/console/sign-in")
}
