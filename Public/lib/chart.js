// Charts, and the period that they are of. The server sends the parts inside this file.
export * from "./chart/bars.js"
export * from "./chart/narrowing.js"
export * from "./chart/period.js"
export * from "./chart/histogram.js"
