// Two records of one person become one, and two again.
import {
	button, formDialog, h, noValue, redraw, runAct, t, timeNode, toast, undoable, userText,
} from "../../../lib/ui.js"

const RANK = ["admin", "manager", "member"]

/** Asks which of two users stays: the one with more rights is proposed, else the older. */
export function askToMerge(page, some, reload) {
	const [first, second] = [...some].sort((one, other) =>
		RANK.indexOf(one.role) - RANK.indexOf(other.role) || one.created_at.localeCompare(other.created_at))
	const path = `${page.path}/users/merges`
	return formDialog({
		title: "Merge two users?", submit: "Merge", draft: null,
		lead: "Proved sign-ins, API keys and addresses of the other go to the one who stays, whose role, name and "
			+ "password do not change. The other's password and sessions end. Both addresses are told by mail. "
			+ "It can be undone for 30 days.",
		fields: [["winner", "Who stays", {
			options: [first, second].map(one => [one.id, `${one.email} (${one.role})`]), value: first.id,
		}]],
		request: ({ winner }) => [path, {
			method: "POST", body: { winner, loser: winner === first.id ? second.id : first.id },
		}],
		done: made => {
			undoable(t`${first.email} and ${second.email} are one`, () => undo(path, made, reload))
			reload()
		},
	})
}

const undo = (path, one, after) => runAct(`${path}/${one.id}/undo`, {}, "They are two again", async undone => {
	const words = endedWords(undone.ended)
	if (words) toast(t`Ended, as it was made since: ${words}`, { stay: true })
	await after()
})

/** What an undo ended, in words; empty if it was nothing. */
const endedWords = ended => [
	ended.keys.length && `API keys (${ended.keys.length})`, ended.sessions && `sessions (${ended.sessions})`,
	ended.link_grants && "links to add a sign-in", ended.password_links && "links to set a password",
	ended.email_change && "a change of the address", ended.password && "the password", ended.pin && "the PIN",
].filter(Boolean).join(", ")

/** A line about a merge on the page of the user who stayed. */
export const mergeLine = (page, one) => h("div.line",
	h("div", h("code", one.loser), h("div.small.muted", timeNode(one.created_at), " · by ",
		userText(one.created_by.name || "Gatehouse"))),
	one.status === "done"
		? button("Undo", () => undo(`${page.path}/users/merges`, one, redraw), { look: ".tiny", name: one.loser })
		: noValue("undone"))
