// A classic script that blocks rendering: it sets theme, density and language before the first paint.
let ui = {}
try {
	ui = JSON.parse(localStorage.getItem("ui") || "{}")
	for (const name of ["theme", "density"]) {
		if (ui[name]) document.documentElement.dataset[name] = ui[name]
	}
	if (ui.dir) document.documentElement.dir = ui.dir
} catch {
	// Storage may be switched off: then the defaults apply.
}
// The language is the one that was chosen in the menu, or else the first of the browser's languages that the console
// has, or else English. The browser sends the same list as Accept-Language. The catalogue is loaded while the rest of
// the page is read.
const LANGUAGES = ["en", "de"]
const lang = ui.lang ?? navigator.languages.map(one => one.slice(0, 2)).find(one => LANGUAGES.includes(one)) ?? "en"
if (lang !== "en") {
	document.documentElement.lang = lang
	const link = document.createElement("link")
	link.rel = "modulepreload"
	const { src } = /** @type {HTMLScriptElement} */ (document.currentScript)
	link.href = new URL(`lang/${lang}.js`, src).href
	document.head.append(link)
}
