import { api, etagOf } from "../../lib/api.js";
import { act, confirm } from "../../lib/dialog.js";
import { form } from "../../lib/form.js";
import { time } from "../../lib/format.js";
import { add, h } from "../../lib/html.js";
import { go, redraw } from "../../lib/router.js";
import { toast } from "../../elements/toast-stack.js";
import { facts } from "./user.js";

export default function settings(page) {
    const { tenant: one, path } = page;
    const rename = form([{ name: "name", label: "Name", value: one.name, required: true }], {
        submit: "Save",
        send: async (values) => {
            await api(path, { method: "PATCH", body: values, etag: etagOf(one) });
            toast("Saved");
            redraw();
        },
    });
    const wide = (title, text, verb, run) => () => confirm({ title, text, act: verb, type: one.slug, run });
    const suspend = wide(`Suspend ${one.name}?`, "Its sign-ins, sessions and keys are refused at once. Nothing is deleted.", "Suspend",
        () => act(`${path}/suspend`, {}, "Suspended", redraw));
    const remove = wide(`Delete ${one.name}?`, "All its users, invites and keys stop working now. It can be restored for 30 days.", "Delete tenant",
        async () => {
            await api(path, { method: "DELETE", etag: etagOf(one) });
            go("/console/tenants");
        });
    add(page.body, h("div.two", {},
        h("div.stack-gap", {}, h("div.card", {}, h("h2", {}, "Name"), rename),
            h("div.card", {}, h("h2", {}, "Facts"), facts([["Slug", h("code", {}, one.slug)], ["Id", h("code", {}, one.id)], ["Created", time(one.created_at)]]))),
        h("div.card", {}, h("h2", {}, "Close the gate"), h("p.muted", {}, "Suspending is undone by resuming; deleting can be undone for 30 days."),
            h("div.acts", {}, one.status === "active" && h("button.btn", { type: "button", onclick: suspend }, "Suspend tenant"),
                one.status !== "deleted" && h("button.btn.danger", { type: "button", onclick: remove }, "Delete tenant")))));
}
