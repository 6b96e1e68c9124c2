import { KefuChat } from "kefu-chat/react";
import { useState } from "react";

const SERVICE = import.meta.env.VITE_CHAT_URL ?? "http://localhost:8000/api/chat";

const PRODUCTS = ["Boots", "Sandals"];

export function Shop() {
  const [isHelped, setHelped] = useState(true);
  const [lang, setLang] = useState("en");
  const [product, setProduct] = useState("Boots");
  const [questions, setQuestions] = useState(0);

  return (
    <main>
      <h1>{product}</h1>
      {PRODUCTS.map((name) => (
        <button key={name} type="button" onClick={() => setProduct(name)}>
          {name}
        </button>
      ))}
      <button type="button" onClick={() => setLang(lang === "en" ? "de" : "en")}>
        {lang === "en" ? "Deutsch" : "English"}
      </button>
      <button type="button" onClick={() => window.ChatWidget?.send(`Tell me about ${product}`)}>
        Ask about it
      </button>
      <button type="button" onClick={() => setHelped(!isHelped)}>
        {isHelped ? "No chat" : "Chat"}
      </button>
      <p>Questions: {questions}</p>
      {isHelped && (
        <KefuChat
          apiUrl={SERVICE}
          lang={lang}
          suggestions={["How long does delivery take?", "Can I return them?"]}
          context={{ product }}
          onMessage={({ role }) => role === "user" && setQuestions(questions + 1)}
        />
      )}
    </main>
  );
}
