// What the console's modules hand to each other: elements, requests, and the page that the router draws.

/** What an element holds. Null, undefined and false draw nothing; a text is translated unless it was already. */
type Child = Node | String | number | null | undefined | boolean | readonly Child[]

/** The tag of a selector such as "button.btn.primary". */
type TagOf<Selector extends string> = Selector extends `${infer Tag}.${string}` ? Tag : Selector
type ElementOf<Selector extends string> = TagOf<Selector> extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[TagOf<Selector>] : HTMLElement
/** Properties, attributes and, by `on…`, listeners of an element. */
type Properties = { [name: string]: any }

interface MakeElement {
    <Selector extends string>(selector: Selector, properties: Properties, ...kids: Child[]): ElementOf<Selector>
    <Selector extends string>(selector: Selector, ...kids: Child[]): ElementOf<Selector>
}

/** Something that an operator can do, as a button or as an entry of a menu. */
type Act = { text: Child, run: () => unknown }
/** A list of acts may have gaps: what is not allowed is left out. */
type Acts = readonly (Act | null | undefined | false | "")[]

/** What a list's rows are called; both are English, and translated where they are shown. */
type Noun = { one: string, many: string }
/** A choice of a select. Among check boxes, `hint` explains it, and a `group` is a heading above those that follow. */
type Choice = { value: string, text: Child, hint?: string } & { group?: undefined }
type ChoiceGroup = { group: string }

interface RequestOptions {
    method?: string
    /** Is sent as JSON. */
    body?: unknown
    /** A body that is not JSON, described by `headers`. */
    file?: Blob
    headers?: Record<string, string>
    signal?: AbortSignal
    /** Of the object as it was read, for If-Match. */
    etag?: string | null
    /** The type that is wanted, whose body is read as it comes. */
    accept?: string
    /** How often it was sent already. */
    tries?: number
    /** No further proof of presence is asked for. */
    proved?: boolean
    /** The idempotency key of an act that was sent before. */
    key?: string
}
/** How many items a list has; one that is not exact is a lower bound. */
type Total = { value: number, exact: boolean }

/** A request as a form returns it: where to, and how. */
type FormRequest = RequestOptions & { path: string }
/** A request as it is shown to the operator. */
type SentRequest = { method: string, path: string, body?: string, etag?: string | null, accept?: string }

/** A refusal, as RFC 9457 problem details; see lib/server.js. */
interface Refusal extends Error {
    /** 0 if the server could not be reached. */
    status: number
    title: string
    code?: string
    id?: string
    retryAfter?: string | null
    errors?: { pointer: string, detail: string, code?: string }[]
    /** The confirmation that the server wants to get back. */
    confirm?: string
    methods?: string[]
    remedies?: string[]
    reference?: string
    users?: unknown[]
}

/** What the router finds for an address. */
type Route = { page: string, params: { slug?: string, tab?: string, id?: string, page?: string } }

/** A place that the navigation leads to; or only the name of a group of places. */
type Place = LinkedPlace | { group: string, href?: undefined }
type LinkedPlace = {
    group?: undefined
    text: string
    href: string
    look: string
    /** Pressed after G. */
    key?: string
    /** Also at the bottom of a small window. */
    pin?: boolean
    /** Only in a small window. */
    isNarrow?: boolean
    /** The tenant that it belongs to. */
    sub?: string
}
/** A page of a tenant in the navigation; `right` is needed to read it. */
type Tab = { tab: string, text: string, look: string, key?: string, right?: string }

/** What the router gives a page to draw itself with. */
interface Page {
    params: Route["params"]
    body: HTMLElement
    /** Aborts when another page is shown. */
    signal: AbortSignal
    /** Asks the API; the answer of a page that was left is not drawn. */
    get: (path: string) => Promise<any>
    /** Called when the query of the address changes. */
    onUpdate: (update: () => unknown) => void
    /** Says whether something was typed that leaving would lose. */
    onLeave: (isEdited: (() => boolean) | null) => void
    /** Whether it is still the page that is shown. */
    alive: () => boolean
    /** How the pages of the tenant's sign-in look. */
    face?: API.Appearance & { slug: string }
}
/** A page of a tenant; or of the platform, which has keys and origins of its own. */
interface TenantPage extends Page {
    tenant?: API.Tenant
    /** The tenant is deleted: nothing can be changed. */
    isGone?: boolean
    /** Its place in the console, and below /v1. */
    base: string
    path: string
    id?: string
    /** Draws it anew. */
    again: () => unknown
    /** Where the buttons of the page as a whole stand. */
    acts?: HTMLElement
}

type Nothing = null | undefined | false | "" | 0
type ButtonOptions = Properties & {
    /** Its classes: ".primary.tiny". */
    look?: string
    icon?: string
    /** What it is about, for people who do not see where it stands. */
    name?: Child
}
type PageHead = { lead?: Child, acts?: Child, crumbs?: { text: Child, href: string }[] }
/** What is shown if there is no data. */
type State = {
    title?: Sentence
    text?: Sentence
    error?: Refusal | any
    again?: () => unknown
    action?: Child
    link?: { href: string, text: Child } | false | null
}
/** What the router knows of the page that is shown. */
type View = {
    current: null | {
        stop: AbortController, path: string, update: (() => unknown) | null, isEdited: (() => boolean) | null
    }
    isQuiet: boolean
    mayLeave: boolean
    draw: () => unknown
}

/** A secret that is shown once. */
type Secret = {
    title: Sentence
    secret: string
    /** The name of its variable in a settings file. */
    name?: string
    /** Is downloaded instead of a settings file. */
    file?: { name: string, text: string, label: string, type?: string }
    /** The path of a request with which an API key can be tried. */
    call?: string
    text?: Child
    /** Another button. */
    more?: Child
}

/** A text, or one that is translated already. */
type Sentence = string | String

// What pages are described by; see lib/ui.js, lib/form.js and lib/chooser.js.
type ListSpec<Item> = import("../../../Public/lib/ui.js").ListSpec<Item>
type Column<Item> = import("../../../Public/lib/ui.js").Column<Item>
type Field = import("../../../Public/lib/form.js").Field
type Form = import("../../../Public/lib/form.js").Form
type DialogSpec = import("../../../Public/lib/form.js").DialogSpec
type ConfirmSpec = import("../../../Public/lib/form.js").ConfirmSpec
type BulkAct<Item> = import("../../../Public/lib/chooser.js").BulkAct<Item>
