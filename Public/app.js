// The router, and what stands around every page. The server sends the parts inside this file.
import { language, setCatalogue, view } from "./lib/core.js"
import { putFrame } from "./app/frame.js"
import { drawPage } from "./app/router.js"

export * from "./app/shortcuts.js"
export * from "./app/frame.js"
export * from "./app/focus.js"
export * from "./app/tenant.js"
export * from "./app/router.js"

// A language without a catalogue here is English.
if (language !== "en") await import(`./lang/${language}.js`).then(one => setCatalogue(one.default), () => {})
view.draw = drawPage
putFrame()
drawPage()
