// Passkeys: what the server asks of the browser, and what the browser answers (WebAuthn, as JSON).
import { api } from "./server.js"

/** @type {(text: string) => Uint8Array} */
const decoded = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), one => one.charCodeAt(0))
/** @type {(bytes: ArrayBuffer) => string} */
const encoded = bytes => btoa(Array.from(new Uint8Array(bytes), one => String.fromCharCode(one)).join(""))
	.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
const named = list => list.map(one => ({ ...one, id: decoded(one.id) }))

/**
 * Why this browser offers no passkeys at this address, in words; null if passkeys can be used.
 * @type {() => string | null}
 */
export function passkeysFault() {
	if (/^[\d.]+$|^\[/.test(location.hostname)) {
		return "Passkeys belong to a name, and this page was opened by an address. Open it by its name: on this "
			+ "machine that is localhost."
	}
	if (!isSecureContext) return "Browsers offer passkeys only over https."
	return globalThis.PublicKeyCredential ? null : "This browser knows no passkeys."
}

/**
 * Whether the browser can offer passkeys in its autofill list below a field.
 * @type {() => Promise<boolean>}
 */
export const fillsIn = async () => !passkeysFault()
	&& Boolean(await /** @type {any} */ (PublicKeyCredential).isConditionalMediationAvailable?.().catch(() => false))

/**
 * Creates a passkey, and returns it in the form that the server wants. The server is first asked for the options;
 * `more` is added to that request.
 * @type {(more?: RequestOptions) => Promise<object>}
 */
export async function makePasskey(more = {}) {
	const options = await api("/me/passkeys/options", { body: { purpose: "registration" }, ...more })
	/** @type {any} */
	const made = await navigator.credentials.create({ publicKey: {
		...options, challenge: decoded(options.challenge), user: { ...options.user, id: decoded(options.user.id) },
		excludeCredentials: named(options.excludeCredentials),
	} })
	const { id, response } = made
	return { id, type: "public-key", response: {
		clientDataJSON: encoded(response.clientDataJSON), attestationObject: encoded(response.attestationObject),
		transports: response.getTransports?.() ?? [],
	} }
}

/**
 * Asks the browser for a passkey, with `options` from the server; returns the passkey's answer. `more` are further
 * options for the browser.
 * @type {(options: any, more?: CredentialRequestOptions) => Promise<object>}
 */
export async function askPasskey(options, more = {}) {
	/** @type {any} */
	const chosen = await navigator.credentials.get({ ...more, publicKey: {
		...options, challenge: decoded(options.challenge), allowCredentials: named(options.allowCredentials),
	} })
	const { id, response } = chosen
	return { id, type: "public-key", response: {
		clientDataJSON: encoded(response.clientDataJSON), authenticatorData: encoded(response.authenticatorData),
		signature: encoded(response.signature), userHandle: response.userHandle && encoded(response.userHandle),
	} }
}

/**
 * Requests which ways to sign in the server accepts.
 * @type {() => Promise<API.SignInWays>}
 */
export const signInWays = () => api("/session/ways")

/**
 * Requests the options for a sign-in by passkey. `stepUpOptions` requests the options for a step-up within a session.
 * @type {() => Promise<API.PasskeyOptions>}
 */
export const signInOptions = () => api("/session/passkey-options", { method: "POST" })
/** @type {() => Promise<API.PasskeyOptions>} */
export const stepUpOptions = () => api("/me/passkeys/options", { body: { purpose: "step_up" } })

/** @type {Record<string, string>} */
const REFUSALS = {
	InvalidStateError: "This device has a passkey of yours already.",
	NotAllowedError: "No passkey was used: it was cancelled, or it took too long.",
	NotSupportedError: "This device cannot sign in with passkeys.",
	SecurityError: "The browser does not use passkeys at this address of the console.",
}
/**
 * Returns an error with our own words in place of a refusal by the browser; any other error is returned as it is.
 * @type {(error: any) => Refusal}
 */
export const passkeyRefusal = error => (REFUSALS[error.name] ? new Error(REFUSALS[error.name]) : error)
