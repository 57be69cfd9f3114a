// Classic and blocking: theme and density stand before the first paint.
try {
	const ui = JSON.parse(localStorage.getItem("ui") || "{}")
	for (const name of ["theme", "density"]) {
		if (ui[name]) document.documentElement.dataset[name] = ui[name]
	}
	if (ui.dir) document.documentElement.dir = ui.dir
} catch {
	// Storage may be switched off; the defaults then stand.
}
