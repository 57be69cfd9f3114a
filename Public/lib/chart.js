import { number } from "./format.js";
import { h, svgNode } from "./html.js";

const day = (iso) => new Date(iso).toLocaleString(document.documentElement.lang, { month: "short", day: "numeric", hour: "2-digit" });

/** Admitted and refused as stacked bars, with a sentence and the same as a table. */
export function bars(points) {
    const highest = Math.max(1, ...points.map((one) => one.admitted + one.refused));
    const width = 600 / points.length;
    const drawn = points.flatMap((one, at) => {
        const bar = (value, below, name) => svgNode("rect", {
            class: name, x: at * width + width * 0.15, width: width * 0.7, rx: 1,
            y: 138 - ((value + below) / highest) * 130, height: (value / highest) * 130,
        });
        return [bar(one.admitted, 0, "in"), bar(one.refused, one.admitted, "out")];
    });
    const sum = (name) => number(points.reduce((all, one) => all + one[name], 0));
    const sentence = `${sum("admitted")} admitted (below), ${sum("refused")} refused (on top); at most ${number(highest)} at once.`;
    const svg = svgNode("svg", { class: "chart", viewBox: "0 0 600 140", preserveAspectRatio: "none", role: "img", "aria-label": sentence },
        svgNode("line", { class: "base", x1: 0, x2: 600, y1: 138.5, y2: 138.5 }), ...drawn);
    return h("figure", {}, svg, h("figcaption.small.muted", {}, sentence),
        h("details.small", {}, h("summary", {}, "View as table"), h("div.table", {}, h("table", {},
            h("thead", {}, h("tr", {}, ["When", "Admitted", "Refused"].map((text) => h("th", { scope: "col" }, text)))),
            h("tbody", {}, points.map((one) => h("tr", {}, h("td", {}, day(one.at)), h("td", {}, number(one.admitted)), h("td", {}, number(one.refused)))))))));
}
