import { memo, useMemo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { splitBlocks } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { htmlAsText } from "./htmlAsText";

const COMPONENTS: Components = {
  a: ({ href, children, title }) => {
    const inside = href === undefined || href.startsWith("#");
    return (
      <a href={href} title={title} {...(inside ? {} : { target: "_blank", rel: "noreferrer noopener" })}>
        {children}
      </a>
    );
  },
  // An image of another place would tell that place who reads what: its address is shown, never loaded.
  img: ({ src, alt }) => <RemoteImage src={typeof src === "string" ? src : undefined} alt={alt} />,
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  table: ({ children }) => <WideTable>{children}</WideTable>,
};

function WideTable({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrolling area is reached by keyboard
    <div className="wide" tabIndex={0} role="group" aria-label={t("thread.table")}>
      <table>{children}</table>
    </div>
  );
}

function RemoteImage({ src, alt }: { src: string | undefined; alt: string | undefined }) {
  const { t } = useTranslation();
  const words = t("thread.image", { alt: alt === undefined || alt === "" ? (src ?? "") : alt });
  return src === undefined ? (
    <span>{words}</span>
  ) : (
    <a href={src} target="_blank" rel="noreferrer noopener">
      {words}
    </a>
  );
}

interface BlockProps {
  text: string;
  /** Told each time a block is parsed; tests count. */
  onParse?: ((text: string) => void) | undefined;
}

const Block = memo(function Block({ text, onParse }: BlockProps) {
  onParse?.(text);
  return (
    <div className="block">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[htmlAsText, rehypeSanitize]} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

/** An answer's text. Raw HTML in it stays text; of a growing answer only the last block is parsed again. */
export const Markdown = memo(function Markdown({ text, onParse }: BlockProps) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return (
    <div className="prose">
      {blocks.map((block, index) => (
        <Block key={index} text={block} onParse={onParse} />
      ))}
    </div>
  );
});
