// Where the operator is signed in, and was.
import {
	api, button, card, confirm, dataTable, h, loadPart, noValue, replaceContent, runAct, statusTag, t, timeNode, words,
} from "../../lib/ui.js"

const part = (title, load) => {
	const body = h("div", h("p.muted", "Loading…"))
	loadPart(body, () => load(body))
	return card(title, body)
}

export const sessions = page => part("Where you are signed in", async function draw(body) {
	const again = () => draw(body)
	const { items } = await api("/me/sessions", { signal: page.signal })
	const device = one => one.device ?? "Unknown"
	const endButton = one => button("End", () => end(one), {
		look: ".ghost.tiny", name: t`the session on ${device(one)}`,
	})
	const end = one => runAct(`/me/sessions/${one.id}`, { method: "DELETE" }, "The session is ended", again)
	replaceContent(body, dataTable("Your sessions", ["Device", "Address", "Signed in", "Last seen", "By", "End"],
		items.map(one => [device(one), h("code", one.ip ?? "–"), timeNode(one.created_at),
			timeNode(one.last_seen_at), words(one.method), one.current ? statusTag("this one") : endButton(one)])),
		items.length > 1 && h("div.acts", button("End all others", () => confirm({
			title: "End all other sessions?", act: "End them", path: "/me/sessions", said: "They are ended",
			after: again, text: "Whoever uses one of them is out at once. This one goes on.",
		}))))
})

export const signIns = page => part("Your last sign-ins", async body => {
	const { items } = await api("/me/sign-ins", { signal: page.signal })
	replaceContent(body, dataTable("Your last sign-ins", ["When", "Address", "By"],
		items.map(one => [timeNode(one.at), h("code", one.ip ?? "–"), one.method ? words(one.method) : noValue()])))
})
