// Sign-in at the provider that the platform's owners chose for operators.
import { h, icon, query, replaceAddress, t, userText } from "../../lib/core.js"

const PLACE = "gatehouse-next"
/** Where the sign-in was asked for before it left this site. */
export const keptPlace = () => sessionStorage.getItem(PLACE) ?? ""

const FAULTS = {
	unknown: "No operator of this console has that account, nor its address.",
	other_person: "That is not the account of the session that asked, or the session is over.",
	not_anew: "The provider did not ask you anew, so that nothing is proved. Use another way.",
	unavailable: "The provider cannot be asked. Try again in a moment.",
}
/** In words, why the return from the provider began nothing. */
export const faultOf = code => FAULTS[code] ?? "The sign-in at the provider did not end well. Begin again."

/** Goes to the provider. Back leads from there, and from where the sign-in ends, to the place that was asked for: who
 * is not signed in then is sent here again. */
function leave({ ctrlKey, metaKey, shiftKey }) {
	const { next = "" } = query()
	sessionStorage.setItem(PLACE, next)
	if (ctrlKey || metaKey || shiftKey) return
	replaceAddress(/^\/console\//.test(next) ? next : "/console/")
	// A browser that kept this page whole would show it at that address.
	addEventListener("pageshow", event => event.persisted && location.reload())
}

/** The part of the page; empty while there is none. `ways`: of the server. */
export function providerSignIn(ways) {
	const part = h("div")
	ways.then(all => all?.provider && part.replaceChildren(h("div.acts.gap", h("a.btn.wide", {
		href: "/v1/session/provider", onclick: leave,
	}, icon("door"), h("span", t`Sign in at ${all.provider.name}`)))))
	return part
}
