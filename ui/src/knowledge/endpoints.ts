import type { Collection, KnowledgeDocument, KnowledgeHit, KnowledgeList, Page } from "../api/types";
import { request } from "../client/http";

const at = encodeURIComponent;

export const listCollections = () => request<KnowledgeList>("/api/collections");

export const readCollection = (collection: string) => request<Collection>(`/api/collections/${at(collection)}`);

export const createCollection = (given: { name: string; access: string[] | null }) =>
  request<Collection>("/api/collections", { method: "POST", body: given });

export const changeCollection = (collection: string, change: { access?: string[] | null; name?: string }) =>
  request<Collection>(`/api/collections/${at(collection)}`, { method: "PATCH", body: change });

export const deleteCollection = (collection: string) =>
  request<unknown>(`/api/collections/${at(collection)}`, { method: "DELETE" });

export function listDocuments(collection: string, cursor?: string, limit = 100): Promise<Page<KnowledgeDocument>> {
  const wanted = new URLSearchParams({ limit: `${limit}` });
  if (cursor !== undefined) wanted.set("cursor", cursor);
  return request(`/api/collections/${at(collection)}/documents?${wanted.toString()}`);
}

export function uploadDocument(collection: string, file: File): Promise<Page<KnowledgeDocument>> {
  const form = new FormData();
  form.append("name", file.name);
  form.append("file", file);
  return request(`/api/collections/${at(collection)}/documents`, { method: "POST", body: form });
}

export const retryDocument = (document: string) =>
  request<KnowledgeDocument>(`/api/documents/${at(document)}/retry`, { method: "POST" });

export const deleteDocument = (document: string) =>
  request<unknown>(`/api/documents/${at(document)}`, { method: "DELETE" });

/** The file as it was brought, for a link that the browser saves. */
export const originalOf = (document: string) => `/api/documents/${at(document)}/original`;

export const searchKnowledge = (collection: string, query: string) =>
  request<{ items: KnowledgeHit[] }>("/api/knowledge/search", {
    method: "POST",
    body: { query, collections: [collection], limit: 10 },
  });
