import { add, card, facts, h, head, me, tag, time, user } from "../lib/ui.js"
import { matrix, reach } from "./operators.js"

export default page => {
	const one = me()
	add(page.body, [head("Your account"), h("div.stack-gap",
		card("You", facts([["Name", user(one.name)], ["Email", user(one.email)], ["Role", tag(one.role)],
			["Scope", reach(one)],
			["This sign-in", time(one.last_sign_in_at)], ["Since", time(one.created_at)], ["Id", h("code", one.id)]])),
		card("What each role may do", matrix()))])
}
