// One field of a form: its label, its control, its hint and its error.
import { h, icon, replaceContent, t, translate } from "../core.js"
import { controlOf, putRaw, rawOf, read, settleTenant } from "./controls.js"

let serial = 0

export function row(field) {
	const id = `f${(serial += 1)}`
	const { options, value, label, autocomplete, attrs, required } = field
	const { look = "", type = options ? "select" : "text", hint: help = type === "lines" && "One a line." } = field
	const common = {
		id, name: field.name, "aria-describedby": `${id}h ${id}w ${id}e`, required, autocomplete, ...attrs,
	}
	const hint = help && h("div.hint", { id: `${id}h` }, help)
	const error = h("div.wrong", { id: `${id}e`, hidden: true })
	const [control, heading = h("label", { htmlFor: id }, label), more] = controlOf(type, { field, id, common, hint })
	const raw = () => rawOf(type, control)
	const before = raw()
	const put = value => putRaw(type, control, value)
	// Warns of a name that may be taken for another. Some browsers give an email's name in its ASCII form.
	const odd = (type === "email" || field.named) && h("div", { id: `${id}w`, "aria-live": "polite" })
	const judge = async () =>
		(odd.dataset.said || /[^\0-\x7f]|xn--/i.test(raw())) && (await import("../lookalike.js")).warn(odd, raw())
	if (odd) control.addEventListener("input", judge)
	if (odd && before) judge()
	const names = [field.name, ...(field.also ?? [])]
	const has = name => names.some(own => name === own || name.startsWith(`${own}.`))
	return {
		field, raw, put, has, before: JSON.stringify(read(type, control, field)),
		read: () => read(type, control, field),
		isChanged: () => String(raw()) !== String(before), reset: () => put(before),
		settle: type === "tenant" ? () => settleTenant(control) : null,
		// Of many ticks the error stands above them: below, it would be out of sight.
		node: h(`div.field${look}`, heading, type === "checks" && error,
			type !== "check" && [control, more, hint], odd, type !== "checks" && error),
		focus: () => (control.querySelector("input") ?? control).focus(),
		/** An error of one line of several names the line. */
		explain(name, detail) {
			const at = Number(/\.(\d+)(\.|$)/.exec(name)?.[1] ?? 0)
			const lines = type === "lines" && read(type, control, field)
			return lines?.[at] ? t`“${lines[at]}” ${translate(detail)}` : detail
		},
		say(text) {
			if (text) control.setAttribute("aria-invalid", "true")
			else control.removeAttribute("aria-invalid")
			error.hidden = !text
			replaceContent(error, text && icon("alert"), text)
		},
	}
}
