// What browsers have and TypeScript 4.8 does not know yet.

interface PromiseConstructor {
    withResolvers<T = any>(): { promise: Promise<T>, resolve: (value: T) => void, reject: (reason: unknown) => void }
}
interface Array<T> {
    toSorted(compare?: (one: T, other: T) => number): T[]
    toReversed(): T[]
    findLast(predicate: (one: T) => unknown): T | undefined
}
interface AbortSignal {
    throwIfAborted(): void
}
interface HTMLElement {
    showPopover(): void
    hidePopover(): void
}
interface Element {
    checkVisibility(): boolean
}
interface Navigator {
    userAgentData?: { platform: string }
}
interface Window {
    navigation?: Navigation
}
declare const navigation: Navigation
interface Navigation {
    addEventListener(type: "navigate", listener: (event: NavigateEvent) => void): void
}
interface NavigateEvent extends Event {
    canIntercept: boolean
    hashChange: boolean
    downloadRequest: string | null
    navigationType: string
    destination: { url: string }
    intercept(options: { focusReset?: "manual", handler: () => Promise<void> }): void
}
declare class CompressionStream {
    constructor(format: "gzip")
    readonly readable: ReadableStream<Uint8Array>
    readonly writable: WritableStream<BufferSource>
}
declare class DecompressionStream extends CompressionStream {}

/** The events that the console sends to itself; see lib/server.js. */
interface WindowEventMap {
    "step-up": CustomEvent<{ resolve: (isProved: boolean) => void, detail: string, methods?: string[], remedies?: string[] }>
}

interface Array<T> {
    /** Leaves out the gaps of a list. */
    filter(predicate: BooleanConstructor): Exclude<T, null | undefined | false | "" | 0>[]
}
interface ReadonlyArray<T> {
    filter(predicate: BooleanConstructor): Exclude<T, null | undefined | false | "" | 0>[]
}

// What a selector finds: an HTML element of the tag that its last part names.
type Last<Selector extends string> = Selector extends `${string} ${infer Rest}` ? Last<Rest> : Selector
type Bare<Part extends string> = Part extends `${infer Tag}[${string}` ? Bare<Tag>
    : Part extends `${infer Tag}.${string}` ? Bare<Tag> : Part extends `${infer Tag}:${string}` ? Bare<Tag> : Part
type Found<Selector extends string> = Selector extends `${infer One}, ${infer Other}` ? Found<One> | Found<Other>
    : Bare<Last<Selector>> extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Bare<Last<Selector>>] : HTMLElement
interface ParentNode {
    querySelector<Selector extends string>(selector: Selector): Found<Selector> | null
    querySelectorAll<Selector extends string>(selector: Selector): NodeListOf<Found<Selector>>
}
interface Element {
    closest<Selector extends string>(selector: Selector): Found<Selector> | null
}

// Where a browser makes a string of what it is given, a translated text will do.
interface ParentNode {
    append(...nodes: (Node | String)[]): void
}
interface ErrorConstructor {
    new (message?: String): Error
}

interface ToggleEvent extends Event {
    newState: "open" | "closed"
}
interface HTMLDivElement {
    addEventListener(type: "toggle", listener: (event: ToggleEvent) => void): void
}
