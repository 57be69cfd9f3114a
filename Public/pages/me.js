import { append, card, currentOperator, factList, h, pageHead, statusTag, timeNode, userText } from "../lib/ui.js"
import { matrix, reach } from "./operators.js"

export default page => {
	const one = currentOperator()
	append(page.body, [pageHead("Your account"), h("div.stack-gap",
		card("You", factList([["Name", userText(one.name)], [
			"Email", userText(one.email),
		], ["Role", statusTag(one.role)],
			["Scope", reach(one)],
			["This sign-in", timeNode(one.last_sign_in_at)], ["Since", timeNode(one.created_at)],
			["Id", h("code", one.id)]])),
		card("What each role may do", matrix()))])
}
