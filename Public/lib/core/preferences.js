// What this browser keeps.
/** What this browser keeps: theme, density, keys, times, the tenant last seen. Never a secret. */
export const preferences = () => {
	try {
		return JSON.parse(localStorage.getItem("ui")) ?? {}
	} catch {
		return {}
	}
}
export const setPreference = (name, value) =>
	localStorage.setItem("ui", JSON.stringify({ ...preferences(), [name]: value || undefined }))

export const isMac = /mac/i.test(navigator.userAgentData?.platform ?? navigator.platform)
