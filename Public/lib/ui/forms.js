// Dialogs with a form: their code comes with the first one.
import { isServerThere } from "../core.js"
import { toast } from "../dialogs.js"

/** Calls what needs the code of forms, which comes with the first one; that it cannot come is said. */
const withForms = name => async options => {
	try {
		return (await import("../form.js"))[name](options)
	} catch (error) {
		// A browser's words for a file that did not come.
		if (!(error instanceof TypeError)) throw error
		toast(await isServerThere()
			? "There is a new version of this page: load it anew."
			: navigator.onLine ? "The server cannot be reached: try again later." : "You are offline: try again later.",
			{ stay: true })
		return null
	}
}
/** See lib/form.js. */
export const formDialog = withForms("formDialog")
export const confirm = withForms("confirm")
export const askToLeave = withForms("askToLeave")

/** A form's field that is ticked or not. */
export const tickField = (name, label, value) => [name, label, { type: "check", value }]
