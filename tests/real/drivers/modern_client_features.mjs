// The part of the modern conversation about the features of features.json.
import { readFileSync } from "node:fs";

export const features = JSON.parse(readFileSync(new URL("./features.json", import.meta.url), "utf8"));

export const capabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
  extensions: features.extensions,
};

// Answers the questions of these tools. How often somebody asks for the roots is not the tool's alone.
export function answerQuestions(client, print) {
  client.setRequestHandler("roots/list", () => ({ roots: features.roots }));
  client.setRequestHandler("sampling/createMessage", ({ params }) => {
    print("asked for sampling", params);
    return features.sampled[params.messages.length > 1 ? 1 : 0];
  });
  client.setRequestHandler("elicitation/create", ({ params }) => {
    if (params.mode !== "url") {
      print("asked", params);
      return { action: "accept", content: { sure: true } };
    }
    // Legacy servers choose an id, each time another one.
    const { elicitationId, ...rest } = params;
    print("asked to open", { ...rest, elicitationId: elicitationId && typeof elicitationId });
    return { action: "accept" };
  });
}

// Holds the conversation. `updated` resolves when a server tells a legacy client of a changed resource.
export async function holdFeatures({ client, call, print, attempt, isLegacy, updated, canBeAsked, canBeTold }) {
  print("rich", await call("rich", {}));
  await attempt("sequence", call("sequence", {}));
  const { spoken, ...seen } = JSON.parse((await call("seen", {}, {}, features.sent)).content[0].text);
  print("spoken", spoken);
  print("seen", seen);
  if (canBeAsked) {
    await attempt("sample", call("sample", {}));
    await attempt("where", call("where", {}));
    await attempt("login", call("login", {}));
  }
  print("read blob", await client.readResource({ uri: features.blob.uri }));
  if (!canBeTold) return;

  const uri = features.counter;
  let news = updated;
  let watching;
  if (isLegacy) {
    await client.subscribeResource({ uri });
  } else {
    let tell;
    news = new Promise((resolve) => (tell = resolve));
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => tell(params));
    watching = await client.listen({ resourceSubscriptions: [uri] });
  }
  print("watches", watching?.honoredFilter);
  // A subscription through us may be acknowledged before its server knows of it.
  let told;
  while (!told) {
    await call("bump", { to: 7 });
    told = await Promise.race([news, new Promise((resolve) => setTimeout(resolve, 200))]);
  }
  print("updated", told.uri);
  print("read counter", await client.readResource({ uri }, { cacheMode: "refresh" }));
  if (isLegacy) await client.unsubscribeResource({ uri });
  else await watching.close();
  await call("bump", { to: 0 });
}
