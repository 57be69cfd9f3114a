/** The language of the test of strings: what comes from the catalogue stands in ⟦⟧ and is longer, a value in it in ‹›. */
export const pseudo = text => (/\p{L}|\{\}/u.test(text)
	? `⟦${text.replace(/[aeiou]/g, letter => letter + { a: "á", e: "é", i: "í", o: "ó", u: "ú" }[letter]).replaceAll("{}", "‹{}›")}⟧` : text)
