// Classic and blocking: theme, density and language are set before the first paint.
let ui = {}
try {
	ui = JSON.parse(localStorage.getItem("ui") || "{}")
	for (const name of ["theme", "density"]) {
		if (ui[name]) document.documentElement.dataset[name] = ui[name]
	}
	if (ui.dir) document.documentElement.dir = ui.dir
} catch {
	// Storage may be switched off; the defaults apply then.
}
// The first of the browser's languages that the console speaks, unless another one was chosen in the menu. The browser
// sends the same list as Accept-Language. The catalogue is loaded while the frame is read.
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
