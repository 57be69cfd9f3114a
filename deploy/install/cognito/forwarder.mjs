// Forwards a Cognito pool's pre-signup and post-confirmation events to Gatehouse: see README.md.
const url = process.env.GATEHOUSE_URL.replace(/\/+$/, "")
const headers = { authorization: `Bearer ${process.env.GATEHOUSE_KEY}`, "content-type": "application/json" }
const paths = { PreSignUp: "/v1/hooks/pre-signup/cognito", PostConfirmation: "/v1/hooks/post-confirmation/cognito" }

export const handler = async (event) => {
  const trigger = event.triggerSource.split("_")[0]
  for (let tries = paths[trigger] ? 2 : 0; tries > 0; tries--) {
    let answer, text
    try {
      const signal = AbortSignal.timeout(2200) // twice is within Cognito's 5 seconds
      answer = await fetch(url + paths[trigger], { method: "POST", headers, body: JSON.stringify(event), signal })
      text = await answer.text()
      if (answer.ok) return JSON.parse(text)
    } catch (error) {
      console.error("gatehouse", error.cause ?? error)
      continue
    }
    console.error("gatehouse", answer.status, text)
    if (answer.status === 403 && !text.includes('"code":"forbidden"'))
      throw new Error(JSON.parse(text).error) // Cognito shows it to the person
    if (answer.status < 500 && answer.status !== 429) break
  }
  if (trigger === "PreSignUp") throw new Error("Sign-up is not available at the moment. Please try again.")
  return event
}
