import { api, search } from "./api.js";
import { total } from "./format.js";
import { add, fill, h, icon } from "./html.js";
import { query, setQuery } from "./router.js";
import { state } from "./states.js";

/**
 * A list view whose whole state is in the URL. `spec`: `path` (below /v1), `noun` [one, many],
 * `columns` [{label, cell(item), sort}], and where wanted `search` (placeholder), `filters`
 * [{name, label, options}], `actions(item)` → [{text, run, danger}], `create` (a button),
 * `empty` {title, text}. Draws into `node`; answers `{reload}`.
 */
export function list(page, node, spec) {
    const { noun, columns } = spec;
    const counted = h("span.end", { "aria-live": "polite" });
    const table = h("div.table", {});
    const pager = h("div.pager", {});
    const controls = bar(spec, counted, (values) => change(values));
    add(node, [controls.node, table, pager]);
    let running = null;
    let trail = [];

    function change(values, options) {
        trail = [];
        setQuery({ ...query(), ...values, cursor: "" }, options);
    }

    async function load() {
        running?.abort();
        const mine = (running = new AbortController());
        page.signal.addEventListener("abort", () => mine.abort(), { once: true });
        const wanted = query();
        controls.read(wanted);
        const slow = setTimeout(() => skeleton(table, columns), table.children.length ? 400 : 120);
        try {
            const data = await api(spec.path + search({ limit: 50, ...spec.fixed, ...pick(spec, wanted) }), { signal: mine.signal });
            clearTimeout(slow);
            draw(data, wanted);
        } catch (error) {
            clearTimeout(slow);
            if (error.name === "AbortError") return;
            fill(counted);
            fill(pager);
            state(table, "error", { error, again: load });
        }
    }

    function draw(data, wanted) {
        const filtered = wanted.q || (spec.filters ?? []).some((one) => wanted[one.name]);
        fill(counted, total(data.total, ...noun));
        fill(pager);
        if (!data.items.length) {
            if (!filtered && !wanted.cursor) {
                state(table, "empty", { title: `No ${noun[1]} yet`, action: spec.create?.(), ...spec.empty });
                return;
            }
            const clear = h("button.btn", { type: "button", onclick: () => change({ q: "", ...blank(spec) }) }, "Clear all");
            const said = [wanted.q && `“${wanted.q}”`, ...(spec.filters ?? []).map((one) => wanted[one.name] && `${one.label}: ${wanted[one.name]}`)];
            state(table, "none", { title: `No ${noun[1]} match`, text: said.filter(Boolean).join(", "), action: clear });
            return;
        }
        const rows = data.items.map((item) => row(item, spec, load));
        fill(table, h("table.stack", {}, h("caption.vh", {}, noun[1]),
            h("thead", {}, h("tr", {}, columns.map((column) => heading(column, wanted, change)), spec.actions && h("th.end", {}, h("span.vh", {}, "Actions")))),
            h("tbody", {}, rows)));
        if (wanted.cursor) pager.append(turn("First page", () => change({})));
        if (wanted.cursor && trail.length) pager.append(turn("Back", () => history.back()));
        if (data.next_cursor) {
            pager.append(turn("Next page", () => {
                trail.push(wanted.cursor);
                setQuery({ ...query(), cursor: data.next_cursor });
                table.scrollIntoView({ block: "nearest" });
            }));
        }
    }

    page.onUpdate(load);
    load();
    return { reload: load };
}

const turn = (text, onclick) => h("button.btn", { type: "button", onclick }, text);
const blank = (spec) => Object.fromEntries((spec.filters ?? []).map((one) => [one.name, ""]));

function pick(spec, wanted) {
    const names = ["q", "sort", "cursor", ...(spec.filters ?? []).map((one) => one.name)];
    return Object.fromEntries(names.map((name) => [name, wanted[name]]));
}

function bar(spec, counted, change) {
    let timer;
    const box = spec.search && h("input", {
        type: "search", placeholder: spec.search, "aria-label": spec.search, "data-search": "", spellcheck: false,
        oninput: () => {
            clearTimeout(timer);
            timer = setTimeout(() => change({ q: box.value.trim() }, { replace: true }), 150);
        },
    });
    const filters = (spec.filters ?? []).map((one) => {
        const control = one.options
            ? h("select", { "aria-label": one.label }, h("option", { value: "" }, one.all ?? `Any ${one.label.toLowerCase()}`), one.options.map(([code, text]) => h("option", { value: code }, text)))
            : h("input", { placeholder: one.label, "aria-label": one.label, spellcheck: false });
        control.addEventListener("change", () => change({ [one.name]: control.value.trim() }));
        return [one.name, control];
    });
    const node = h("div.bar", { role: "search" }, box && h("div.grow", {}, icon("search"), box),
        filters.map(([name, control]) => control.tagName === "SELECT" ? control : h("div", { "data-filter": name }, control)), counted, spec.create?.());
    return {
        node,
        read(wanted) {
            if (box && document.activeElement !== box) box.value = wanted.q ?? "";
            for (const [name, control] of filters) control.value = wanted[name] ?? "";
        },
    };
}

function heading(column, wanted, change) {
    if (!column.sort) return h("th", { scope: "col" }, column.label);
    const order = wanted.sort === column.sort ? "ascending" : wanted.sort === `-${column.sort}` ? "descending" : null;
    const next = order === "ascending" ? `-${column.sort}` : column.sort;
    return h("th", { scope: "col", "aria-sort": order },
        h("button.btn.ghost.tiny", { type: "button", onclick: () => change({ sort: next }) }, column.label, order && (order === "ascending" ? " ↑" : " ↓")));
}

function row(item, spec, reload) {
    const acts = spec.actions?.(item, reload).filter(Boolean) ?? [];
    return h("tr", {}, spec.columns.map((column) => h("td", { "data-label": column.label }, column.cell(item))),
        spec.actions && h("td.end", {}, acts.map(({ text, run, danger, name }) =>
            h(`button.btn.ghost.tiny${danger ? ".warnish" : ""}`, { type: "button", onclick: run, "aria-label": name && `${text} ${name}` }, text))));
}

function skeleton(table, columns) {
    const cells = () => columns.map(() => h("td", {}, h("span.sk", {})));
    fill(table, h("table", { "aria-hidden": "true" }, h("tbody", {}, Array.from({ length: 6 }, () => h("tr", {}, cells())))),
        h("span.vh", {}, "Loading…"));
}
