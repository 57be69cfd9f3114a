import { api, may, scope } from "../../lib/api.js";
import { act, confirm, copy, formDialog } from "../../lib/dialog.js";
import { button, h, tag, time, user } from "../../lib/html.js";
import { list } from "../../lib/list.js";
import { toast } from "../../elements/toast-stack.js";

export default async function domains(page) {
    const path = `${page.path}/domains`;
    const create = () => may("writePolicy") && button("Add domain", () => open(path, view), { look: ".primary", icon: "plus", "data-new": "" });
    const view = await list(page, page.body, {
        path, noun: ["domain", "domains"], create,
        empty: { title: "No domain is claimed", text: "A verified domain lets its people in by the domain rule, and belongs to one tenant only." },
        columns: [
            { label: "Domain", cell: (one) => user(one.display ?? one.domain, "span.main") },
            { label: "Status", state: true, cell: (one) => tag(one.status) },
            { label: "Proof", cell: (one) => (one.status === "verified" ? time(one.verified_at) : proof(one)) },
            { label: "Added", sort: "created_at", cell: (one) => time(one.created_at) },
        ],
        actions: may("writePolicy") && ((one, reload) => [
            one.status !== "verified" && { text: "Check DNS", name: one.domain, run: () => act(`${path}/${one.id}/verify`, { body: { method: "dns" } }, `${one.domain} is verified`, reload) },
            one.status !== "verified" && !scope() && may("createTenant") && { text: "Verify by your word", name: one.domain, run: () => byWord(path, one, reload) },
            { text: "Remove", name: one.domain, danger: true, run: () => remove(path, one, reload) },
        ]),
    });
}

const proof = ({ verification: record }) => h("div.proof", {}, h("span.small.muted", {}, "Publish as a TXT record:"),
    h("code", {}, record?.record_name), h("code", {}, record?.record_value), button("Copy value", () => copy(record?.record_value ?? ""), { look: ".ghost.tiny", icon: "copy" }));

const byWord = (path, one, reload) => confirm({
    title: `Verify ${one.domain} by your word?`, act: "Verify", keep: "Cancel", text: "Everyone with an address there can then come in by the domain rule. The audit log says that you said so.",
    run: async () => {
        await api(`${path}/${one.id}/verify`, { method: "POST", body: { method: "operator" } });
        toast(`${one.domain} is verified`);
        reload();
    },
});

const remove = (path, one, reload) => confirm({
    title: `Remove ${one.domain}?`, act: "Remove domain", text: "Its people are no longer admitted by the domain rule. Those who are in stay.",
    run: async () => {
        await api(`${path}/${one.id}`, { method: "DELETE" });
        toast(`${one.domain} is removed`);
        reload();
    },
});

const open = (path, view) => formDialog({
    title: "Add domain", submit: "Add domain", lead: "It counts once it is proved by a DNS record.",
    fields: [{ name: "domain", label: "Domain", required: true, hint: "Such as example.com, without www." }],
    request: (values) => [path, { method: "POST", body: values }],
    done: (made) => (toast(`${made.domain} is claimed; prove it next`), view.reload()),
});
