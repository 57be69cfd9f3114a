// The one way to make DOM: every string becomes a text node, so no value can turn into markup.
const SVG = "http://www.w3.org/2000/svg";
const SPRITE = new URL("../icons.svg", import.meta.url).pathname;

/** `h("button.btn.primary", {onclick, "aria-label": "x"}, ...children)` */
export function h(selector, props = {}, ...kids) {
    const [tag, ...classes] = selector.split(".");
    const node = document.createElement(tag);
    if (classes.length) node.className = classes.join(" ");
    for (const [name, value] of Object.entries(props)) {
        if (value == null || value === false) continue;
        if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
        else if (name in node && !["form", "list"].includes(name)) node[name] = value;
        else node.setAttribute(name, value === true ? "" : value);
    }
    add(node, kids);
    return node;
}

/** Appends children, leaving out what is null or false. */
export function add(node, kids) {
    node.append(...[kids].flat(9).filter((kid) => kid != null && kid !== false));
    return node;
}

/** Replaces the content of a node. */
export function fill(node, ...kids) {
    node.replaceChildren();
    return add(node, kids);
}

/** A symbol of the sprite; decorative, so hidden from assistive technology. */
export function icon(name, ...classes) {
    const svg = svgNode("svg", { class: ["i", ...classes].join(" "), "aria-hidden": "true" });
    svg.append(svgNode("use", { href: `${SPRITE}#${name}` }));
    return svg;
}

export function svgNode(tag, attributes = {}, ...kids) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...kids);
    return node;
}
